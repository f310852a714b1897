/** Whether the tests of the claims passed, by the JSON reports of vitest. */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Claim, ClaimedTest } from './claims.ts'

export type Verdict = 'passed' | 'failed' | 'skipped' | 'did not run' | 'slow suite, not run here'

type Result = { readonly fullName: string; readonly status: string }
type Report = { readonly testResults: readonly { name: string; assertionResults: readonly Result[] }[] }

/** The results of each test file, by its path below the root. */
export type Results = ReadonlyMap<string, readonly Result[]>

/** A later report rules for the files that it names: it ran them again. */
export function readReports(paths: readonly string[], root: string): Results {
  return new Map(
    paths
      .map(path => JSON.parse(readFileSync(path, 'utf8')) as Report)
      .flatMap(({ testResults }) => testResults)
      .map(({ name, assertionResults }) => [relative(root, name), assertionResults]),
  )
}

/** What vitest fills in where a test runs for many cases: `%s`, `$name`. */
const FILLED_IN = /%[sdifjoOc#]|\$[A-Za-z_][\w.]*/

function namePattern(words: string): RegExp {
  return new RegExp(words.split(FILLED_IN).map(RegExp.escape).join('.*'), 's')
}

/** Every test with the words in its name has to pass, and one at least has to be there. */
export function verdictOn({ file, words }: ClaimedTest, results: Results): Verdict {
  const ran = results.get(file)
  if (ran === undefined && file.endsWith('.slow.test.ts')) return 'slow suite, not run here'
  const pattern = namePattern(words)
  const statuses = (ran ?? []).filter(({ fullName }) => pattern.test(fullName)).map(({ status }) => status)
  if (statuses.length === 0) return 'did not run'
  if (statuses.includes('failed')) return 'failed'
  return statuses.every(status => status === 'passed') ? 'passed' : 'skipped'
}

export type Judged = ClaimedTest & { readonly verdict: Verdict }

export const isRefused = ({ verdict }: Judged) =>
  verdict !== 'passed' && verdict !== 'slow suite, not run here'

export type JudgedClaim = Omit<Claim, 'tests'> & { readonly tests: readonly Judged[] }

export function judge(claim: Claim, results: Results): JudgedClaim {
  return { ...claim, tests: claim.tests.map(test => ({ ...test, verdict: verdictOn(test, results) })) }
}
