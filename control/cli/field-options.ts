/** Options of commands that set fields of a body: a row for each field. */
import { type Command, Option } from "commander";

/** The option of a field, its help, and how its value is read. */
type FieldOption = readonly [flags: string, help: string, read: (text: string) => unknown];

export type FieldOptions = Readonly<Record<string, FieldOption>>;

type Fields<T extends FieldOptions> = { readonly [F in keyof T]?: ReturnType<T[F][2]> };

/** A command with these options. */
export function withFields(command: Command, fields: FieldOptions): Command {
  // in a list, because commander makes a null that it gets itself an empty text
  for (const [flags, help, read] of Object.values(fields)) command.option(flags, help, (text) => [read(text)]);
  return command;
}

/** The fields whose options were given. */
export function fieldsOf<T extends FieldOptions>(fields: T, options: object): Fields<T> {
  const given = new Map(Object.entries(options) as [string, readonly unknown[]][]);
  return Object.fromEntries(
    Object.entries(fields).flatMap(([field, [flags]]) =>
      (given.get(new Option(flags).attributeName()) ?? []).map((value) => [field, value]),
    ),
  ) as Fields<T>;
}
