/** Which compression passes run for a request (docs/rules/compression.md#which-passes-run). */

/** JSON compaction runs whenever compression does. */
interface CompressionPasses {
  readonly code: boolean;
  readonly dedup: boolean;
  readonly lossy: boolean;
}

/** The global switches of settings, by their names there. */
interface GlobalSwitches {
  readonly compression_code_compaction: boolean;
  readonly compression_dedup: boolean;
  readonly compression_allow_lossy: boolean;
}

/** A tenant's policy, by the names of its fields. */
interface CompressionPolicy {
  readonly enabled: boolean;
  readonly code_compaction: boolean;
  readonly dedup: boolean;
  readonly allow_lossy: boolean;
}

/**
 * The passes; null: none, the tenant's policy has compression off. Without a policy the global switches count, with one
 * its own. `lossyAsked`: the request's header permits lossy passes, also against a policy without them.
 */
export function passesFor(
  policy: CompressionPolicy | null,
  settings: GlobalSwitches,
  lossyAsked: boolean,
): CompressionPasses | null {
  if (policy === null) {
    return {
      code: settings.compression_code_compaction,
      dedup: settings.compression_dedup,
      lossy: settings.compression_allow_lossy || lossyAsked,
    };
  }
  if (!policy.enabled) return null;
  return { code: policy.code_compaction, dedup: policy.dedup, lossy: policy.allow_lossy || lossyAsked };
}
