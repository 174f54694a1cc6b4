/**
 * `gateway attention` and `gateway alerts`
 */
import type { Command } from "commander";
import { sessionOf } from "./session.ts";

export function operationCommands(program: Command): void {
  program
    .command("attention")
    .description("what needs attention now, the most urgent first")
    .action(async (_options: object, command: Command) => {
      const session = sessionOf(command);
      const items = await session.bodyOf(session.client.GET("/api/v1/overview/attention"));
      session.list(items, ["kind", "name", "detail", "since"]);
    });
  program
    .command("alerts")
    .description("active alerts; the last messages with --recent")
    .option("--recent", "the last 200 messages, newest first")
    .action(async (options: { recent?: boolean }, command: Command) => {
      const session = sessionOf(command);
      const { firing, recent } = await session.bodyOf(session.client.GET("/api/v1/alerts"));
      if (options.recent === true) session.list(recent, ["at", "title", "detail", "repeats"]);
      else session.list(firing, ["since", "title", "detail", "repeats"]);
    });
}
