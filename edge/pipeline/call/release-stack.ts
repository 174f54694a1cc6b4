/**
 * An error holds the functions of its stack, and the `this` of methods, until its stack is read. A native body that broke off
 * holds its error for as long as anything holds the body: together they would stay in memory forever, and with them the call.
 */
export function releaseStack<T>(error: T): T {
  if (error instanceof Error) Reflect.get(error, "stack");
  return error;
}
