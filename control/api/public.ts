/**
 * The routes without a token: liveness, version and API document (docs/rules/management-api.md#public-routes), and the
 * document as a page for people.
 */
import { z } from "zod";
import { type Access, declareAccess } from "./access.ts";
import { docsRoutes } from "./docs.ts";
import { buildDocument } from "./document.ts";
import { FixedFile } from "./fixed-file.ts";
import type { Api, ApiDeps } from "./types.ts";

const versionSchema = z
  .object({
    version: z.string(),
    git_sha: z.string().nullable(),
    built_at: z.string().nullable(),
  })
  .meta({ id: "Version" });

/** Health, version, document and reference. */
export function publicRoutes(app: Api, deps: ApiDeps): void {
  const json = (schema: z.ZodType) => ({ "application/json": { schema } });
  const route = (path: string, operationId: string, summary: string, content: object, access?: Access): void => {
    declareAccess(app, { method: "get", path, access });
    app.openAPIRegistry.registerPath({
      method: "get",
      path,
      operationId,
      summary,
      tags: ["Gateway"],
      security: [],
      responses: { 200: { description: "Done.", content } },
    });
  };
  route(
    "/api/v1/health",
    "getHealth",
    "Check that the service is alive; touches no store",
    {
      "text/plain": { schema: z.literal("ok") },
    },
    "token",
  );
  route("/api/v1/version", "getVersion", "Read the running version", json(versionSchema));
  route(
    "/api/v1/openapi.json",
    "getOpenapi",
    "Read this document",
    json(z.looseObject({ openapi: z.string() })),
    "token",
  );
  app.get("/api/v1/health", (c) => c.text("ok"));
  app.get("/api/v1/version", (c) => c.json(deps.version));
  let document: FixedFile | undefined;
  app.get("/api/v1/openapi.json", (c) => {
    document ??= new FixedFile("application/json", JSON.stringify(buildDocument(app, deps.version.version)));
    return document.answer(c.req.raw, { "cache-control": "no-cache" });
  });
  docsRoutes(app);
}
