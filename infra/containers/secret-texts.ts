/** The secrets of compose.yaml and compose.cluster.yaml, by the name of their file. Pure. */

/** 24 random bytes are more than anybody can guess; URLs and configuration files need no quotes for them. */
const PASSWORD_BYTES = 24;

/**
 * The text of every secret. `random` gives random bytes; `known` the text of a secret that was made before, which stays, so that
 * an address fits the password of its store.
 */
export function secretTexts(
  random: (bytes: number) => Buffer,
  known: (name: string) => string | undefined,
): Readonly<Record<string, string>> {
  const word = (name: string, bytes = PASSWORD_BYTES): string => known(name) ?? random(bytes).toString("base64url");
  const postgres = word("postgres-password");
  const valkey = word("valkey-password");
  const bucketUser = word("bucket-user", 12);
  const bucketPassword = word("bucket-password");
  return {
    "admin-token": word("admin-token"),
    "internal-token": word("internal-token"),
    "encryption-key": known("encryption-key") ?? random(32).toString("base64"),
    "api-key-pepper": word("api-key-pepper"),
    // empty but during a rotation
    "admin-token-old": known("admin-token-old") ?? "",
    "internal-token-old": known("internal-token-old") ?? "",
    "encryption-keys-old": known("encryption-keys-old") ?? "",
    "api-key-peppers-old": known("api-key-peppers-old") ?? "",
    "console-password": word("console-password"),
    "console-session-secret": word("console-session-secret", 32),
    "postgres-password": postgres,
    "database-url": known("database-url") ?? `postgres://gateway:${postgres}@postgres:5432/gateway`,
    "valkey-password": valkey,
    "valkey.conf": known("valkey.conf") ?? `requirepass ${valkey}`,
    "redis-url": known("redis-url") ?? `redis://:${valkey}@valkey:6379`,
    "clickhouse-password": word("clickhouse-password"),
    "grafana-password": word("grafana-password"),
    "bucket-user": bucketUser,
    "bucket-password": bucketPassword,
    "cluster-key": word("cluster-key", 32),
    "cluster-options":
      known("cluster-options") ??
      [
        "aws_endpoint=http://bucket:9000",
        "aws_allow_http=true",
        "aws_region=us-east-1",
        `aws_access_key_id=${bucketUser}`,
        `aws_secret_access_key=${bucketPassword}`,
      ].join(","),
  };
}
