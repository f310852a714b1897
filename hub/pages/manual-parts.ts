/** What the text manuals of all lines share. */
import type { About } from '../core/about.ts'

export type ManualTold = { about: About; hasDocuments: boolean }

/** Where the documents of svc are. */
export const aboutDocuments = (baseUrl: string): string => `
## Documents
- [The documents of svc](${baseUrl}/docs/llms.txt): every page with one line, each as Markdown; for people: ${baseUrl}/docs/
`

/** Who runs the hub, a line for each thing that is known of it. */
export function operatorLines({ contact, terms, abuse, source }: About): string {
  const rows: [string, string | undefined][] = [
    ['Operator', contact],
    ['Terms of use', terms],
    ['Report abuse to', abuse],
    ['Get svc from', source],
  ]
  return rows.map(([what, value]) => (value === undefined ? '' : `${what}: ${value}\n`)).join('')
}
