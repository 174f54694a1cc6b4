/**
 * Which version of the Worker answers (docs/rules/headers.md#version). On the platform several versions of one Worker can serve
 * at a time; a deployment must know which one answered.
 */

/**
 * A request that has this header is answered with the same header: the id that the platform gave the version, at the time of
 * its upload. The value in the request means nothing. Absent in the answer: no platform has given this Worker an id.
 */
export const WORKER_VERSION_HEADER = "x-gateway-worker-version";
