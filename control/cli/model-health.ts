/**
 * `gateway models health` and `gateway models check`
 */
import type { Command } from "commander";
import type { Schemas } from "../api/client/client.ts";
import { findModel } from "./arguments.ts";
import { CliError, sessionOf } from "./session.ts";

const SUMMARY = ["model_name", "status", "consecutive_failures", "last_checked_at", "last_message"] as const;
const CHECK = ["checked_at", "endpoint", "trigger", "status", "http_status", "latency_ms", "message"] as const;

export function modelHealthCommands(models: Command): void {
  models
    .command("health [model]")
    .description("show the health of every model, or the recent checks of one")
    .action(async (model: string | undefined, _options: object, command: Command) => {
      const session = sessionOf(command);
      if (model === undefined) {
        session.list(await session.bodyOf(session.client.GET("/api/v1/models/health")), SUMMARY);
        return;
      }
      const { id } = await findModel(session, model);
      const params = { path: { id } };
      const detail = await session.bodyOf(session.client.GET("/api/v1/models/{id}/health", { params }));
      session.listIn(detail, checksOf(detail), CHECK);
    });
  models
    .command("check <model>")
    .description("check a model and its endpoints now; fails if it is not healthy")
    .action(async (model: string, _options: object, command: Command) => {
      const session = sessionOf(command);
      const { id, model_name } = await findModel(session, model);
      const params = { path: { id } };
      const detail = await session.bodyOf(session.client.POST("/api/v1/models/{id}/health/check", { params }));
      const [check] = detail.checks;
      const now = checksOf(detail).filter(({ checked_at }) => checked_at === check?.checked_at);
      session.listIn(detail, now, CHECK);
      if (check !== undefined && check.status !== "healthy")
        throw new CliError(`model '${model_name}' is not healthy: ${check.message ?? check.status}`);
    });
}

/** Checks of the model and of its endpoints, newest first; of the same moment, the model's checks come first. */
function checksOf({ checks, endpoint_checks }: Schemas["ModelHealthDetail"]) {
  const own = checks.map((check) => ({ ...check, endpoint: null }));
  const others = endpoint_checks.map((check) => ({ ...check, endpoint: check.endpoint_name ?? check.endpoint_id }));
  return [...own, ...others].sort((a, b) => b.checked_at.localeCompare(a.checked_at));
}
