/**
 * `gateway attention`, `gateway alerts` and `gateway rotate`
 */
import type { Command } from "commander";
import type { Schemas } from "../api/client/client.ts";
import { toPeriodMs } from "./arguments.ts";
import { sessionOf } from "./session.ts";

const FIRING = ["key", "severity", "since", "detail", "repeats", "acknowledged_by", "muted_until"] as const;
const CHANNELS = [
  "id",
  "name",
  "type",
  "enabled",
  "min_severity",
  "kinds",
  "failed",
  "last_at",
  "last_result",
] as const;
const RECENT = ["at", "key", "severity", "detail", "repeats"] as const;

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
  const alerts = program
    .command("alerts")
    .description("active alerts; the last messages with --recent, the muted ones with --muted")
    .option("--recent", "the last 200 messages, newest first")
    .option("--muted", "muted alerts, active or not")
    .action(async (options: { recent?: boolean; muted?: boolean }, command: Command) => {
      const session = sessionOf(command);
      const { firing, recent, muted } = await session.bodyOf(session.client.GET("/api/v1/alerts"));
      if (options.recent === true) session.list(recent, RECENT);
      else if (options.muted === true) session.list(muted, ["key", "muted_until", "muted_by"]);
      else session.list(firing, FIRING);
    });
  alerts
    .command("channels")
    .description("where alerts go, by which rule, and how the last message went")
    .action(async (_options: object, command: Command) => {
      const session = sessionOf(command);
      const channels = await session.bodyOf(session.client.GET("/api/v1/alert-channels"));
      const rows = channels.map(({ last_delivery: last, ...channel }) => ({
        ...channel,
        last_at: last?.at ?? null,
        last_result: last?.detail ?? null,
      }));
      session.listIn(channels, rows, CHANNELS);
    });
  alerts
    .command("ack <key>")
    .description("send no repeats of an active alert until it ends")
    .action(async (key: string, _options: object, command: Command) => {
      await mark(command, key, { acknowledged: true });
    });
  alerts
    .command("unack <key>")
    .description("send repeats again")
    .action(async (key: string, _options: object, command: Command) => {
      await mark(command, key, { acknowledged: false });
    });
  alerts
    .command("mute <key> <period>")
    .description("mute an alert for a period, such as 90m, 24h or 7d")
    .action(async (key: string, period: string, _options: object, command: Command) => {
      await mark(command, key, { muted_until: new Date(Date.now() + toPeriodMs(period)).toISOString() });
    });
  alerts
    .command("unmute <key>")
    .description("end a mute")
    .action(async (key: string, _options: object, command: Command) => {
      await mark(command, key, { muted_until: null });
    });
}

async function mark(command: Command, key: string, body: Schemas["ChangeAlertMark"]): Promise<void> {
  const session = sessionOf(command);
  session.record(
    await session.bodyOf(session.client.PATCH("/api/v1/alerts/{key}", { params: { path: { key } }, body })),
  );
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
    ...(api_key_pepper.keys_invalid > 0
      ? [
          {
            secret: "- no pepper fits",
            old_accepted: null,
            still_needed: `${api_key_pepper.keys_invalid} keys are invalid (401)`,
          },
        ]
      : []),
    ...api_key_pepper.first_left.map(({ key_prefix, name }) => ({
      secret: `- ${key_prefix}`,
      old_accepted: null,
      still_needed: `by ${name === "" ? "a key without a name" : name}`,
    })),
    { secret: "internal token", ...ofToken(internal_token) },
    { secret: "admin token", ...ofToken(admin_token) },
  ];
}
