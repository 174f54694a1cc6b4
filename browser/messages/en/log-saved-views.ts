/** Texts of the saved views of the list of requests. */
export const savedViewsTexts = {
  viewsBuiltIn: "Built in",
  viewsOwn: "Saved in this browser",
  viewsNone: "Nothing saved yet.",
  viewName: "Name of the view",
  viewHint: "Saves filters, period and columns.",
  saveView: "Save view",
  viewSaved: "View {name} saved",
  viewNotSaved: "The browser does not store anything for this site.",
  viewsFull: "Delete a view first: {count} can be saved.",
  deleteView: "Delete view {name}",
  copyView: "Copy link to view {name}",
  viewCopied: "Link copied",
  viewFailed: "Failed requests",
  viewRefused: "Refused requests",
  viewWaited: "Waited longer than 1 s",
  viewSlow: "Slower than 10 s",
} as const;
