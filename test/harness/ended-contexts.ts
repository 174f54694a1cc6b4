/** The header that makes the Worker of test/objects/ended-contexts end the context of its request after so many ms. */
export const END_CONTEXT_AFTER_HEADER = "x-test-end-context-after-ms";
