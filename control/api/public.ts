/**
 * The three routes without token (specification "Public Management routes").
 */
import type { Api, ApiDeps } from "./types.ts";

/** Health, version and the document. */
export function publicRoutes(app: Api, deps: ApiDeps): void {
  app.get("/api/v1/health", (c) => c.text("ok"));
  app.get("/api/v1/version", (c) => c.json(deps.version));
  app.get("/api/v1/openapi.json", (c) =>
    c.json(
      app.getOpenAPI31Document({
        openapi: "3.1.0",
        info: {
          title: "Gateway Management API",
          version: deps.version.version,
          description: "Tenants, keys, models and usage of the gateway.",
        },
      }),
    ),
  );
}
