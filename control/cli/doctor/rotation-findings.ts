/** What the doctor says while old secrets are accepted: which of them are still needed (docs/rotate.md). */
import type { Rotation } from "../../../shared/schema/rotation.ts";
import type { findingsOf, LinkedFinding } from "./finding.ts";

const CHECK = "rotation";

/** None while no old secret is accepted and every key works. */
export function rotationFindings(
  { encryption_key, api_key_pepper, internal_token, admin_token }: Rotation,
  { ok, warning }: Pick<ReturnType<typeof findingsOf>, "ok" | "warning">,
): readonly LinkedFinding[] {
  const removable = (variable: string): LinkedFinding =>
    warning(CHECK, `nothing needs ${variable} any more`, `remove ${variable} from every part: docs/rotate.md`);
  const findings: LinkedFinding[] = [];
  if (encryption_key.old_keys > 0)
    findings.push(
      encryption_key.records_left === 0
        ? removable("GATEWAY_ENCRYPTION_KEYS_OLD")
        : ok(CHECK, `${encryption_key.records_left} records still need GATEWAY_ENCRYPTION_KEYS_OLD`),
    );
  if (api_key_pepper.old_peppers > 0)
    findings.push(
      api_key_pepper.keys_left === 0
        ? removable("GATEWAY_API_KEY_PEPPERS_OLD")
        : ok(CHECK, `${api_key_pepper.keys_left} keys were not used since GATEWAY_API_KEY_PEPPER was replaced`),
    );
  if (api_key_pepper.keys_invalid > 0)
    findings.push(
      warning(
        CHECK,
        `${api_key_pepper.keys_invalid} keys are invalid: their hashes use a pepper that is not accepted`,
        "set the pepper that they had (if none, unset GATEWAY_API_KEY_PEPPER), or rotate or delete them: docs/rotate.md",
      ),
    );
  const tokens = { GATEWAY_INTERNAL_TOKEN_OLD: internal_token, GATEWAY_ADMIN_TOKEN_OLD: admin_token };
  for (const [variable, { old_accepted, old_used_at }] of Object.entries(tokens))
    if (old_accepted)
      findings.push(
        old_used_at === null
          ? warning(
              CHECK,
              `${variable} was not used since the control service started`,
              `remove ${variable} once every part has the new token: docs/rotate.md`,
            )
          : ok(CHECK, `${variable} was used since the control service started`),
      );
  return findings;
}
