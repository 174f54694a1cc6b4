/**
 * `gateway keys`
 */
import type { Command } from "commander";
import { RATE_FIELD_NAMES } from "../../shared/fields/rates.ts";
import type { Schemas } from "../api/client/client.ts";
import { findKey, findTenant, page, refuseNoChange, toList, toNumber, toPeriodMs } from "./arguments.ts";
import { type FieldOptions, fieldsOf, withFields } from "./field-options.ts";
import { RATE_OPTIONS } from "./rate-options.ts";
import { type Session, sessionOf } from "./session.ts";

const CREATE_OPTIONS = {
  ...RATE_OPTIONS,
  name: ["--name <text>", "name of the key", String],
  description: ["--description <text>", "what it is for", String],
  budget_tokens: ["--tokens <n>", "limit in tokens", toNumber],
  budget_cost_usd: ["--usd <n>", "limit in USD", toNumber],
  expires_at: ["--expires <time>", "expiry, such as 2027-01-31T00:00:00Z; default: never", String],
  allowed_models: ["--models <names>", "allowed models, separated by commas; default: those of the tenant", toList],
} as const satisfies FieldOptions;

export function keyCommands(program: Command): void {
  const keys = program.command("keys").description("what a tenant's clients authenticate with");
  keys
    .command("list")
    .description("list keys, newest first")
    .option("--tenant <tenant>", "of this tenant only, by name or id")
    .action(async (options: { tenant?: string }, command: Command) => {
      const session = sessionOf(command);
      const tenant = options.tenant === undefined ? undefined : await findTenant(session, options.tenant);
      const only = tenant === undefined ? {} : { tenant_id: tenant.id };
      const rows = await session.rowsOfAllPages((cursor) =>
        session.client.GET("/api/v1/keys", { params: { query: { ...page(cursor), ...only } } }),
      );
      session.list(rows, [
        "key_prefix",
        "name",
        "tenant_name",
        "disabled",
        "expires_at",
        ...RATE_FIELD_NAMES,
        "budget_tokens",
        "created_at",
        "id",
      ]);
    });
  keys
    .command("show <key>")
    .description("show a key, by id, prefix or name")
    .action(async (key: string, _options: object, command: Command) => {
      const session = sessionOf(command);
      const at = await keyAt(session, key);
      session.record(await session.bodyOf(session.client.GET("/api/v1/keys/{id}", at)));
    });
  withFields(keys.command("create <tenant>"), CREATE_OPTIONS)
    .description("create a key; its secret is shown only once")
    .action(async (tenant: string, options: object, command: Command) => {
      const session = sessionOf(command);
      const { id } = await findTenant(session, tenant);
      const body = fieldsOf(CREATE_OPTIONS, options);
      const created = await session.bodyOf(
        session.client.POST("/api/v1/tenants/{id}/keys", { params: { path: { id } }, body }),
      );
      showSecret(session, command, created);
    });
  keys
    .command("rotate <key>")
    .description("rotate a key's secret, which is shown only once; the key by id, prefix or name")
    .option("--grace <period>", "how long the old secret stays valid, such as 30m, 24h or 7d", toPeriodMs)
    .action(async (key: string, options: { grace?: number }, command: Command) => {
      const session = sessionOf(command);
      const at = await keyAt(session, key);
      const body = { grace_secs: (options.grace ?? 0) / 1000 };
      const rotated = session.client.POST("/api/v1/keys/{id}/rotate", { ...at, body });
      showSecret(session, command, await session.bodyOf(rotated));
    });
  keys
    .command("expire <key> <time>")
    .description("set a key's expiry, such as 2027-01-31T00:00:00Z; `never` for none")
    .action(async (key: string, time: string, _options: object, command: Command) => {
      await change(sessionOf(command), key, { expires_at: time === "never" ? null : time });
    });
  withFields(keys.command("quota <key>"), RATE_OPTIONS)
    .description("set a key's limits per minute; omitted limits keep their values")
    .action(async (key: string, options: object, command: Command) => {
      await change(sessionOf(command), key, fieldsOf(RATE_OPTIONS, options));
    });
  keys
    .command("models <key> <names>")
    .description("set the allowed models, separated by commas; `all` for those of its tenant")
    .action(async (key: string, names: string, _options: object, command: Command) => {
      await change(sessionOf(command), key, { allowed_models: names === "all" ? null : toList(names) });
    });
  for (const [word, disabled] of [
    ["disable", true],
    ["enable", false],
  ] as const) {
    keys
      .command(`${word} <key>`)
      .description(`${word} a key, by id, prefix or name`)
      .action(async (key: string, _options: object, command: Command) => {
        const session = sessionOf(command);
        const { id } = await findKey(session, key);
        const call = session.client.PUT("/api/v1/keys/{id}/disabled", { params: { path: { id } }, body: { disabled } });
        session.record(await session.bodyOf(call));
      });
  }
  keys
    .command("delete <key>")
    .description("delete a key, by id, prefix or name")
    .action(async (key: string, _options: object, command: Command) => {
      const session = sessionOf(command);
      const { id, key_prefix } = await findKey(session, key);
      await session.bodyOf(session.client.DELETE("/api/v1/keys/{id}", { params: { path: { id } } }));
      session.say(`key ${key_prefix}... is deleted`);
    });
}

/** Where a key is, by its id, prefix or name. */
async function keyAt(session: Session, key: string): Promise<{ readonly params: { readonly path: { id: string } } }> {
  return { params: { path: { id: (await findKey(session, key)).id } } };
}

async function change(session: Session, key: string, body: Schemas["UpdateApiKey"]): Promise<void> {
  refuseNoChange(body);
  const at = await keyAt(session, key);
  session.record(await session.bodyOf(session.client.PUT("/api/v1/keys/{id}", { ...at, body })));
}

/** Shows a key with its secret; the secret first where people read it. */
function showSecret(session: Session, command: Command, { secret, key }: Schemas["CreatedApiKey"]): void {
  const asJson = command.optsWithGlobals<{ json?: boolean }>().json === true;
  session.record(asJson ? { key, secret } : { secret, ...key });
}
