/** The options of limits per minute, which tenants and keys have. */
import type { Command } from "commander";
import { RATE_FIELD_NAMES, type RateField } from "../../shared/fields/rates.ts";
import { toNumber } from "./arguments.ts";

const OPTIONS = {
  tokens_per_minute: { name: "tpm", text: "tokens per minute, 0 for no limit" },
  requests_per_minute: { name: "rpm", text: "requests per minute, 0 for no limit" },
} as const satisfies Readonly<Record<RateField, { readonly name: string; readonly text: string }>>;

export type RateOptions = { readonly [Name in (typeof OPTIONS)[RateField]["name"]]?: number };

/** A command with these options. */
export function withRates(command: Command): Command {
  for (const { name, text } of Object.values(OPTIONS)) command.option(`--${name} <n>`, text, toNumber);
  return command;
}

/** What a body says of them: those that were given. */
export function ratesOf(options: RateOptions): { readonly [R in RateField]?: number } {
  return Object.fromEntries(
    RATE_FIELD_NAMES.flatMap((field) => {
      const given = options[OPTIONS[field].name];
      return given === undefined ? [] : [[field, given]];
    }),
  );
}
