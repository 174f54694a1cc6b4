import { TextField } from "../../ui/fields.tsx";
import { useReadOnly } from "../../ui/read-only.ts";

interface SecretFieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly error?: string | undefined;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A secret that is typed in and never shown; the browser does not offer to keep it, as it is nobody's password. */
export function SecretField({ onChange, ...field }: SecretFieldProps) {
  if (useReadOnly()) return null;
  return (
    <TextField
      {...field}
      type="password"
      autoComplete="new-password"
      spellCheck={false}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}
