'use strict';
module.exports = require('./riftjs.js').open('riftjs-axios-1.16.0');
