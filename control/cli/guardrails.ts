/**
 * `gateway guardrails`
 */
import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import type { Schemas } from "../api/client/client.ts";
import { findTenant } from "./arguments.ts";
import { CliError, sessionOf } from "./session.ts";

interface TryOptions {
  readonly tenant?: string;
  readonly action: string;
  readonly scanners?: string;
  readonly keywords?: string;
}

/** The text `-` is read from the standard input. */
export function guardrailsCommands(program: Command): void {
  const guardrails = program.command("guardrails").description("policies for what tenants send and get");
  guardrails
    .command("test <text>")
    .description("try a policy on a text, or on standard input (-); nothing is stored")
    .addOption(
      new Option("--tenant <tenant>", "the policy of this tenant, by name or id").conflicts([
        "action",
        "scanners",
        "keywords",
      ]),
    )
    .option("--action <action>", "block, redact or log_only", "block")
    .option(
      "--scanners <list>",
      "of input, separated by commas (default: prompt_injection,pii, and ban_keywords with --keywords)",
    )
    .option("--keywords <list>", "banned keywords, separated by commas")
    .action(async (given: string, options: TryOptions, command: Command) => {
      const session = sessionOf(command);
      const text = given === "-" ? readFileSync(0, "utf8") : given;
      const policy = options.tenant === undefined ? policyOf(options) : await stored(session, options.tenant);
      session.record(await session.bodyOf(session.client.POST("/api/v1/guardrails/test", { body: { text, policy } })));
    });
}

type Policy = Schemas["GuardrailsTrial"]["policy"];

/** The API refuses what is not a policy, naming the field. */
function policyOf({ action, scanners, keywords }: TryOptions): Policy {
  return {
    action,
    input_scanners: listOf(scanners ?? `prompt_injection,pii${keywords === undefined ? "" : ",ban_keywords"}`),
    ban_keywords: listOf(keywords),
  } as Policy;
}

async function stored(session: ReturnType<typeof sessionOf>, tenant: string): Promise<Policy> {
  const { name, guardrails_policy: policy } = await findTenant(session, tenant);
  if (policy === null) throw new CliError(`${name} has no guardrails policy`);
  return policy;
}

function listOf(text: string | undefined): string[] {
  return (text ?? "")
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}
