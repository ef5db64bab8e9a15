'use strict';
// node --require ./shim.js: this process reaches the relay and nothing else. Names of Riot's lead to it,
// with TLS, as a hosts file and port 443 would have it for clients that hard-code them; any other name or
// address is refused, so that a client that goes past the relay fails instead of calling Riot.
const net = require('node:net');
const tls = require('node:tls');

const relay = new URL(process.env.RELAY);
const connectTLS = tls.connect;
tls.connect = function connect(options, ...rest) {
  if (options && typeof options === 'object' && !options.socket && /\.api\.riotgames\.com$/.test(options.host || '')) {
    options = { ...options, servername: options.servername || options.host, host: relay.hostname, port: Number(relay.port) };
  }
  return connectTLS.call(this, options, ...rest);
};

const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function only(...args) {
  const options = Array.isArray(args[0]) ? args[0][0] : args[0];
  if (options && typeof options === 'object' && (options.host !== relay.hostname || String(options.port) !== relay.port)) {
    throw new Error(`the client goes past the relay, to ${options.host}:${options.port}`);
  }
  return connect.apply(this, args);
};
