"use strict";
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#explorer",
  deepLinking: true,
  docExpansion: document.getElementById("explorer").dataset.expansion,
  filter: document.getElementById("explorer").dataset.expansion === "none", // by tag
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: -1,
  validatorUrl: null, // the usual one is on the internet
  persistAuthorization: false,
  syntaxHighlight: { activated: true },
});
