/**
 * Settings of admins as a request reads them (docs/rules/settings.md#common-rules): the hot copy, parsed once per copy,
 * with the revision by which the Cell compares it.
 */
import type { HotSetting, SettingsRecord } from "../../../shared/records.ts";
import type { Call } from "./context.ts";

interface KnownSettings<T> {
  readonly settings: T;
  readonly rev: number;
}

/**
 * A reader of one setting; it returns null when the setting cannot be read. `parse`: the value, or undefined when its
 * form is not known here.
 */
export function settingsReader<T>(
  name: HotSetting,
  parse: (value: unknown) => T | undefined,
): (call: Call) => Promise<KnownSettings<T> | null> {
  const parsed = new WeakMap<SettingsRecord, KnownSettings<T>>();
  return async (call) => {
    const record = (await call.ports.directory.settings(name).catch(() => null))?.record;
    if (record === undefined) return null;
    const known = parsed.get(record);
    if (known !== undefined) return known;
    const settings = parse(record.value);
    if (settings === undefined) return null;
    const read = { settings, rev: record.rev };
    parsed.set(record, read);
    return read;
  };
}
