/**
 * The human-readable reference at /docs: Swagger UI from its npm package. Every file is served from here, none from
 * elsewhere. The page needs no token; the calls that it makes do.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { FixedFile } from "./fixed-file.ts";
import type { Api } from "./types.ts";

const require = createRequire(import.meta.url);
const FOLDER = dirname(require.resolve("swagger-ui-dist/package.json"));

const FILES: Readonly<Record<string, string>> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "favicon-32x32.png": "image/png",
};

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Gateway Management API</title>
    <link rel="icon" href="docs/favicon-32x32.png">
    <link rel="stylesheet" href="docs/swagger-ui.css">
  </head>
  <body>
    <div id="reference"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
`;

const START = `SwaggerUIBundle({
  url: "api/v1/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
`;

const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

/** The page, its script, and the package's files. */
export function docsRoutes(app: Api): void {
  app.get("/docs", (c) => c.body(PAGE, 200, { ...HEADERS, "content-type": "text/html; charset=utf-8" }));
  app.get("/docs/start.js", (c) =>
    c.body(START, 200, { ...HEADERS, "content-type": "text/javascript; charset=utf-8" }),
  );
  const read = new Map<string, FixedFile>();
  for (const [name, type] of Object.entries(FILES)) {
    app.get(`/docs/${name}`, (c) => {
      const file = read.get(name) ?? new FixedFile(type, readFileSync(join(FOLDER, name)));
      read.set(name, file);
      return file.answer(c.req.raw, { ...HEADERS, "cache-control": "public, max-age=3600" });
    });
  }
}
