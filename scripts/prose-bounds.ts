/** Which documents are measured, and how long their sentences, paragraphs and cells may be. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Figures, figuresOf, measure } from './measured-prose.ts'

export type Bounds = Partial<Figures>
export type Kind = 'how-to' | 'reference'
export type Measured = { path: string; kind: Kind; figures: Figures }

/** The longest that each may be, in words. */
export const bounds: Record<Kind, Bounds> = {
  'how-to': { sentenceMedian: 12, sentenceP90: 22, paragraphP90: 45, paragraphMax: 90, cellMax: 25 },
  reference: { sentenceMedian: 15, sentenceP90: 28, paragraphMax: 120 },
}

const beside = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'hub/README.md',
  'x402/README.md',
  'examples/README.md',
]
const guides = ['README', 'a2a', 'agents', 'build', 'console', 'providers', 'tui', 'uninstall', 'using'].map(
  name => `docs/${name}.md`,
)
const guideFolders = /^docs\/(?:host|use)\//

const kindOf = (path: string): Kind =>
  [...beside, ...guides].includes(path) || guideFolders.test(path) ? 'how-to' : 'reference'

/** Every document that people read, in the order of its path. */
export function measuredDocuments(root: string): Measured[] {
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.md'))
    .map(path => `docs/${path}`)
    .sort()
  return [...beside.filter(path => existsSync(join(root, path))), ...docs].map(path => ({
    path,
    kind: kindOf(path),
    figures: figuresOf(measure(readFileSync(join(root, path), 'utf8'))),
  }))
}

/** Those figures of a document that are above its bounds. */
export function excessOf({ kind, figures }: Measured): Bounds {
  const above = (Object.keys(bounds[kind]) as (keyof Figures)[])
    .filter(name => figures[name] > (bounds[kind][name] ?? 0))
    .map(name => [name, figures[name]])
  return Object.fromEntries(above) as Bounds
}
