/** One part of the documents, as the search of the site holds it. */
export type Part = {
  /** Its place in the site, with the heading. */
  to: string
  page: string
  /** Nothing for the beginning of a page. */
  heading: string
  text: string
}
