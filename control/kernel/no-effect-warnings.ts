/**
 * Warnings about what can be configured but has no effect yet: for each feature, when a body configures it, and the text of
 * the warning. Nothing is refused. The change that builds a feature removes its entry here; the last one removes this file.
 */
type Warnings<T> = (given: T) => readonly string[];

const when =
  <T>(isConfigured: (given: T) => boolean, text: string): Warnings<T> =>
  (given) =>
    isConfigured(given) ? [text] : [];

/** A body that switches the assistant on. */
export const assistantWarnings = when<{ readonly enabled?: boolean | undefined }>(
  (body) => body.enabled === true,
  "the assistant has no effect yet: the settings are stored, and nobody can ask it",
);
