/** The table of whole tasks between real coding agents in docs/agents.md, printed from what a run of them recorded. */
import { existsSync, readFileSync } from 'node:fs'

/** What the models of an agent were shown while it asked, and while it answered in lock-down. */
export type Shown = {
  version: string
  asks: { calls: number; characters: number }
  /** `offered`: names of tools, with a space between. */
  answers: { offered: string; characters: number }
}
export type Ring = Record<string, Shown>

const MARK = '<!-- ring -->'
const PAGE = new URL('../docs/agents.md', import.meta.url)
/** Written by `SVC_RECORD=1 npm run test:agents`. */
export const RING = new URL('../bench/ring.json', import.meta.url)

/** The page with the table as the run recorded it; the rest of it is written by hand. */
export function agentsDocument(): string {
  const [before, , after] = readFileSync(PAGE, 'utf8').split(MARK)
  const ring = existsSync(RING) ? (JSON.parse(readFileSync(RING, 'utf8')) as Ring) : {}
  return [before, `\n${table(ring)}\n`, after].join(MARK)
}

const count = (value: number) => value.toLocaleString('en-GB')

function table(ring: Ring): string {
  const rows = Object.entries(ring).map(([id, { version, asks, answers }]) => {
    const offered = answers.offered === '' ? 'none' : `\`${answers.offered.split(' ').join('`, `')}\``
    const [number = version] = /\d[\d.]*\d/.exec(version) ?? []
    return `| \`${id}\` | ${number} | ${asks.calls} | ${count(asks.characters)} | ${offered} | ${count(answers.characters)} |`
  })
  const head = '| Agent | Version | Calls | Characters | Offered in lock-down | Characters |'
  return ['', head, '|---|---|---|---|---|---|', ...rows, ''].join('\n')
}
