/** Stylesheets beside their component: the names of their classes (infra/console/bundle.ts). */
declare module "*.module.css" {
  const classes: Readonly<Record<string, string>>;
  export default classes;
}
