import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { updateTenantSchema } from "../../shared/schema/tenant.ts";
import { toNumberOrNone } from "./arguments.ts";
import { fieldsOf, withFields } from "./field-options.ts";
import { tenantCommands } from "./tenants.ts";

const OPTIONS = {
  fairshare_group: ["--group <name>", "fairshare group", String],
  max_in_flight: ["--max-in-flight <n>", "max concurrency", toNumberOrNone],
} as const;

describe("options of fields", () => {
  it.each([
    { words: [], body: {} },
    { words: ["--group", "g"], body: { fairshare_group: "g" } },
    { words: ["--max-in-flight", "0", "--group", ""], body: { max_in_flight: 0, fairshare_group: "" } },
    { words: ["--max-in-flight", "none"], body: { max_in_flight: null } },
  ])("$words give the body $body", ({ words, body }) => {
    const command = withFields(new Command(), OPTIONS).parse(words, { from: "user" });
    expect(fieldsOf(OPTIONS, command.opts())).toEqual(body);
  });

  it("of a new tenant include every field that PUT takes", () => {
    const program = new Command();
    tenantCommands(program);
    const create = program.commands[0]?.commands.find((command) => command.name() === "create");
    const taken = ["name", ...(create?.options.map((option) => option.name()) ?? [])];
    const wanted = Object.keys(updateTenantSchema.shape).map((field) => field.replaceAll("_", "-"));
    expect(wanted.filter((field) => !taken.includes(field))).toEqual([]);
  });
});
