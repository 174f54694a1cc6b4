/** Every `messages/<language>.json`, loaded when it is the browser's language (made by infra/console/bundle.ts). */
declare module "console-languages" {
  export const languages: Readonly<
    Record<string, () => Promise<Readonly<Record<string, Readonly<Record<string, string>>>>>>
  >;
}
