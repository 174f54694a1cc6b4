/**
 * `gateway attention`, `gateway alerts` and `gateway rotate`
 */
import type { Command } from "commander";
import type { Schemas } from "../api/client/client.ts";
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
    .command("rotate")
    .description("old secrets that are still accepted")
    .command("status")
    .description("what still needs the old encryption keys, peppers and tokens")
    .action(async (_options: object, command: Command) => {
      const session = sessionOf(command);
      const status = await session.bodyOf(session.client.GET("/api/v1/rotation"));
      session.listIn(status, leftOvers(status), ["secret", "old_accepted", "still_needed"]);
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

/** A row for each secret, and below the pepper one for each key that still needs an old one. */
function leftOvers({ encryption_key, api_key_pepper, internal_token, admin_token }: Schemas["Rotation"]) {
  const ofToken = ({ old_accepted, old_used_at }: Schemas["Rotation"]["admin_token"]) => ({
    old_accepted: old_accepted ? 1 : 0,
    still_needed: old_used_at === null ? "not used since the start" : `used at ${old_used_at}`,
  });
  return [
    {
      secret: "encryption key",
      old_accepted: encryption_key.old_keys,
      still_needed: `by ${encryption_key.records_left} records`,
    },
    { secret: "pepper", old_accepted: api_key_pepper.old_peppers, still_needed: `by ${api_key_pepper.keys_left} keys` },
    ...api_key_pepper.first_left.map(({ key_prefix, name }) => ({
      secret: `- ${key_prefix}`,
      old_accepted: null,
      still_needed: `by ${name === "" ? "a key without a name" : name}`,
    })),
    { secret: "internal token", ...ofToken(internal_token) },
    { secret: "admin token", ...ofToken(admin_token) },
  ];
}
