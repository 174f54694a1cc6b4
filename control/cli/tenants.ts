/**
 * `gateway tenants`
 */
import type { Command } from "commander";
import { RATE_FIELD_NAMES } from "../../shared/fields/rates.ts";
import type { Schemas } from "../api/client/client.ts";
import { findTenant, page, refuseNoChange, toList, toNumber, toNumberOrNone } from "./arguments.ts";
import { type RateOptions, ratesOf, withRates } from "./rate-options.ts";
import { type Session, sessionOf } from "./session.ts";

interface CreateOptions extends RateOptions {
  readonly weight?: number;
  readonly maxInFlight?: number;
  readonly group?: string;
  readonly timezone?: string;
  readonly description?: string;
}

interface ListOptions {
  readonly search?: string;
  readonly status?: string;
  readonly group?: string;
}

interface BudgetOptions {
  readonly tokens?: number | null;
  readonly usd?: number | null;
  readonly period?: string;
}

const at = (tenant: Schemas["Tenant"]) => ({ params: { path: { id: tenant.id } } });

function filtersOf({ search, status, group }: ListOptions) {
  return {
    ...(search === undefined ? {} : { q: search }),
    ...(status === undefined ? {} : { status: status as Schemas["SetTenantStatus"]["status"] }),
    ...(group === undefined ? {} : { group }),
  };
}

export function tenantCommands(program: Command): void {
  const tenants = program.command("tenants").description("who uses the gateway");
  tenants
    .command("list")
    .description("list tenants")
    .option("--search <text>", "a part of name, description or contact")
    .option("--status <status>", "active, suspended or archived")
    .option("--group <name>", "fairshare group")
    .action(async (options: ListOptions, command: Command) => {
      const session = sessionOf(command);
      const rows = await session.rowsOfAllPages((cursor) =>
        session.client.GET("/api/v1/tenants", { params: { query: { ...page(cursor), ...filtersOf(options) } } }),
      );
      const columns = [
        "name",
        "status",
        "fairshare_group",
        "weight",
        ...RATE_FIELD_NAMES,
        "max_in_flight",
        "id",
      ] as const;
      session.list(rows, columns);
    });
  tenants
    .command("show <tenant>")
    .description("show a tenant, by name or id")
    .action(async (tenant: string, _options: object, command: Command) => {
      const session = sessionOf(command);
      session.record(await findTenant(session, tenant));
    });
  withRates(tenants.command("create <name>"))
    .description("create a tenant")
    .option("--weight <n>", "fairshare weight", toNumber)
    .option("--max-in-flight <n>", "max concurrency (slots in each cell)", toNumber)
    .option("--group <name>", "fairshare group")
    .option("--timezone <zone>", "IANA time zone")
    .option("--description <text>", "what it is for")
    .action(async (name: string, options: CreateOptions, command: Command) => {
      const session = sessionOf(command);
      const { weight, maxInFlight, group, timezone, description } = options;
      const body = {
        name,
        ...(weight === undefined ? {} : { weight }),
        ...ratesOf(options),
        ...(maxInFlight === undefined ? {} : { max_in_flight: maxInFlight }),
        ...(group === undefined ? {} : { fairshare_group: group }),
        ...(timezone === undefined ? {} : { timezone }),
        ...(description === undefined ? {} : { description }),
      };
      session.record(await session.bodyOf(session.client.POST("/api/v1/tenants", { body })));
    });
  tenants
    .command("status <tenant> <status>")
    .description("set the status: active, suspended or archived")
    .action(async (tenant: string, status: string, _options: object, command: Command) => {
      await change(sessionOf(command), tenant, { status: status as Schemas["SetTenantStatus"]["status"] });
    });
  withRates(tenants.command("quota <tenant>"))
    .description("set its limits; an omitted limit stays as it is")
    .option("--max-in-flight <n>", "max concurrency (slots in each cell), or none", toNumberOrNone)
    .action(async (tenant: string, options: RateOptions & { maxInFlight?: number | null }, command: Command) => {
      const { maxInFlight } = options;
      const body = { ...ratesOf(options), ...(maxInFlight === undefined ? {} : { max_in_flight: maxInFlight }) };
      await change(sessionOf(command), tenant, body);
    });
  tenants
    .command("weight <tenant>")
    .argument("<weight>", "1 to 1000000", toNumber)
    .description("set the fairshare weight")
    .action(async (tenant: string, weight: number, _options: object, command: Command) => {
      await change(sessionOf(command), tenant, { weight });
    });
  tenants
    .command("budget <tenant>")
    .description("change the term budget; an omitted option stays as it is. Shows what has been used with --used")
    .option("--tokens <n>", "limit in tokens, or none", toNumberOrNone)
    .option("--usd <n>", "limit in USD, or none", toNumberOrNone)
    .option("--period <period>", "lifetime, monthly or term, or none")
    .option("--used", "change nothing, show what has been used")
    .action(async (tenant: string, options: BudgetOptions & { used?: boolean }, command: Command) => {
      const session = sessionOf(command);
      const { tokens, usd, period, used } = options;
      if (used === true) {
        const found = at(await findTenant(session, tenant));
        return session.record(await session.bodyOf(session.client.GET("/api/v1/tenants/{id}/budget/usage", found)));
      }
      await change(session, tenant, {
        ...(tokens === undefined ? {} : { budget_tokens: tokens }),
        ...(usd === undefined ? {} : { budget_cost_usd: usd }),
        ...(period === undefined
          ? {}
          : {
              budget_period: (period === "none" ? null : period) as NonNullable<
                Schemas["TenantBudget"]["budget_period"]
              >,
            }),
      });
    });
  tenants
    .command("models <tenant> <names>")
    .description("set the allowed models, separated by commas; `all` for every model")
    .action(async (tenant: string, names: string, _options: object, command: Command) => {
      await change(sessionOf(command), tenant, { allowed_models: names === "all" ? null : toList(names) });
    });
  tenants
    .command("delete <tenant>")
    .description("delete a tenant and its keys")
    .action(async (tenant: string, _options: object, command: Command) => {
      const session = sessionOf(command);
      const found = await findTenant(session, tenant);
      await session.bodyOf(session.client.DELETE("/api/v1/tenants/{id}", at(found)));
      session.say(`tenant '${found.name}' and its keys are deleted`);
    });
}

/** Changes the given fields, and no other. Throws CliError if there is none. */
async function change(session: Session, tenant: string, body: Schemas["PatchTenant"]): Promise<void> {
  refuseNoChange(body);
  const found = at(await findTenant(session, tenant));
  session.record(await session.bodyOf(session.client.PATCH("/api/v1/tenants/{id}", { ...found, body })));
}
