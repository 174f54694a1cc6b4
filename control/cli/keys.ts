/**
 * `gateway keys`
 */
import type { Command } from "commander";
import { findKey, findTenant, page, toNumber } from "./arguments.ts";
import { sessionOf } from "./session.ts";

interface CreateOptions {
  readonly name?: string;
  readonly description?: string;
  readonly tokens?: number;
  readonly usd?: number;
}

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
      session.list(rows, ["key_prefix", "name", "tenant_name", "disabled", "budget_tokens", "created_at", "id"]);
    });
  keys
    .command("create <tenant>")
    .description("create a key; its secret is shown this once")
    .option("--name <text>", "name of the key")
    .option("--description <text>", "what it is for")
    .option("--tokens <n>", "cap in tokens", toNumber)
    .option("--usd <n>", "cap in USD", toNumber)
    .action(async (tenant: string, options: CreateOptions, command: Command) => {
      const session = sessionOf(command);
      const { id } = await findTenant(session, tenant);
      const { name, description, tokens, usd } = options;
      const body = {
        ...(name === undefined ? {} : { name }),
        ...(description === undefined ? {} : { description }),
        ...(tokens === undefined ? {} : { budget_tokens: tokens }),
        ...(usd === undefined ? {} : { budget_cost_usd: usd }),
      };
      const created = await session.bodyOf(
        session.client.POST("/api/v1/tenants/{id}/keys", { params: { path: { id } }, body }),
      );
      session.record(
        command.optsWithGlobals<{ json?: boolean }>().json === true
          ? created
          : { secret: created.secret, ...created.key },
      );
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
