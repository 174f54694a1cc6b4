/**
 * Warnings at start: configuration that works and is weaker than it could be
 * (docs/rules/authentication.md).
 */
import type { ControlEnv } from "./env.ts";

const ADMIN_TOKEN_CHARACTERS = 32;

/** A warning in the log: its event, and what the operator should do. */
interface ConfigWarning {
  readonly event: string;
  readonly fix: string;
}

/** All warnings about a configuration. They never contain a configured value. */
export function configWarnings(
  env: Pick<ControlEnv, "adminToken" | "internalToken" | "encryptionKey" | "sharedSecrets" | "newSharedSecrets">,
): readonly ConfigWarning[] {
  const warnings: ConfigWarning[] = [];
  if (env.encryptionKey === undefined)
    warnings.push({
      event: "secrets_in_plaintext",
      fix: "set GATEWAY_ENCRYPTION_KEY to base64 of 32 random bytes",
    });
  if (env.adminToken.length < ADMIN_TOKEN_CHARACTERS)
    warnings.push({
      event: "admin_token_short",
      fix: `set GATEWAY_ADMIN_TOKEN to a random string of at least ${ADMIN_TOKEN_CHARACTERS} characters`,
    });
  if (env.internalToken === env.adminToken)
    warnings.push({
      event: "internal_token_is_admin_token",
      fix: "set GATEWAY_INTERNAL_TOKEN to a different value, or leave it unset on both planes",
    });
  if (env.sharedSecrets !== null && env.newSharedSecrets)
    warnings.push({
      event: "shared_secrets_replaced",
      fix: "unset GATEWAY_NEW_SHARED_SECRETS, so that instances with different secrets are refused again",
    });
  return warnings;
}
