/**
 * `gateway tenants`
 */
import type { Command } from "commander";
import { RATE_FIELD_NAMES } from "../../shared/fields/rates.ts";
import { TENANT_FIELDS } from "../../shared/fields/tenant-fields.ts";
import { updateTenantSchema } from "../../shared/schema/tenant.ts";
import type { Schemas } from "../api/client/client.ts";
import { findTenant, page, refuseNoChange, toList, toNumber, toNumberOrNone } from "./arguments.ts";
import { type FieldOptions, fieldsOf, withFields } from "./field-options.ts";
import { RATE_OPTIONS } from "./rate-options.ts";
import { type Session, sessionOf } from "./session.ts";

const HELP: Readonly<Record<string, string>> = { description: "what it is for", timezone: "IANA time zone" };

/** The texts that describe a tenant: those that PUT takes. */
const DESCRIPTION_OPTIONS: FieldOptions = Object.fromEntries(
  updateTenantSchema
    .keyof()
    .options.filter((field) => field !== "name" && TENANT_FIELDS[field].column === "text")
    .map((field) => {
      const words = field.split("_");
      return [field, [`--${words.join("-")} <text>`, HELP[field] ?? words.join(" "), String]];
    }),
);

const CREATE_OPTIONS = {
  ...RATE_OPTIONS,
  weight: ["--weight <n>", "fairshare weight", toNumber],
  max_in_flight: ["--max-in-flight <n>", "max concurrency (slots in each cell)", toNumber],
  fairshare_group: ["--group <name>", "fairshare group", String],
} as const satisfies FieldOptions;

const QUOTA_OPTIONS = {
  ...RATE_OPTIONS,
  max_in_flight: ["--max-in-flight <n>", "max concurrency (slots in each cell), or none", toNumberOrNone],
} as const satisfies FieldOptions;

type BudgetPeriod = Schemas["TenantBudget"]["budget_period"];

const toPeriodOrNone = (text: string) => (text === "none" ? null : text) as NonNullable<BudgetPeriod> | null;

const BUDGET_OPTIONS = {
  budget_tokens: ["--tokens <n>", "limit in tokens, or none", toNumberOrNone],
  budget_cost_usd: ["--usd <n>", "limit in USD, or none", toNumberOrNone],
  budget_period: ["--period <period>", "lifetime, monthly or term, or none", toPeriodOrNone],
  end_user_budget_tokens: ["--end-user-tokens <n>", "limit of each end user in tokens, or none", toNumberOrNone],
  end_user_budget_cost_usd: ["--end-user-usd <n>", "limit of each end user in USD, or none", toNumberOrNone],
  end_user_budget_period: ["--end-user-period <period>", "lifetime, monthly or term, or none", toPeriodOrNone],
} as const satisfies FieldOptions;

interface ListOptions {
  readonly search?: string;
  readonly status?: string;
  readonly group?: string;
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
  withFields(tenants.command("create <name>"), { ...CREATE_OPTIONS, ...DESCRIPTION_OPTIONS })
    .description("create a tenant")
    .action(async (name: string, options: object, command: Command) => {
      const session = sessionOf(command);
      const body = { name, ...fieldsOf(CREATE_OPTIONS, options), ...fieldsOf(DESCRIPTION_OPTIONS, options) };
      session.record(await session.bodyOf(session.client.POST("/api/v1/tenants", { body })));
    });
  tenants
    .command("status <tenant> <status>")
    .description("set the status: active, suspended or archived")
    .action(async (tenant: string, status: string, _options: object, command: Command) => {
      await change(sessionOf(command), tenant, { status: status as Schemas["SetTenantStatus"]["status"] });
    });
  withFields(tenants.command("quota <tenant>"), QUOTA_OPTIONS)
    .description("set its limits; omitted limits keep their values")
    .action(async (tenant: string, options: object, command: Command) => {
      await change(sessionOf(command), tenant, fieldsOf(QUOTA_OPTIONS, options));
    });
  tenants
    .command("weight <tenant>")
    .argument("<weight>", "1 to 1000000", toNumber)
    .description("set the fairshare weight")
    .action(async (tenant: string, weight: number, _options: object, command: Command) => {
      await change(sessionOf(command), tenant, { weight });
    });
  withFields(tenants.command("budget <tenant>"), BUDGET_OPTIONS)
    .description("change the term budget; omitted options keep their values. --used shows what has been used")
    .option("--used", "change nothing, show what has been used")
    .action(async (tenant: string, options: { used?: boolean }, command: Command) => {
      const session = sessionOf(command);
      if (options.used === true) {
        const found = at(await findTenant(session, tenant));
        return session.record(await session.bodyOf(session.client.GET("/api/v1/tenants/{id}/budget/usage", found)));
      }
      await change(session, tenant, fieldsOf(BUDGET_OPTIONS, options));
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
