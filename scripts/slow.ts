/**
 * `npm run test:slow`: every slow test, or those that are named. It says when all of them last passed, and at which commit,
 * and notes it where they do now. `npm run test:slice`: a part of those that can run in part, with a fresh seed.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isWhole, Report, recordOf, SlowRecord, sayRecord } from './slow-record.ts'

const root = new URL('..', import.meta.url).pathname
const RECORD = 'test/last-slow.json'
const SEED_END = 2 ** 31

const git = (...given: string[]): string => execFileSync('git', given, { cwd: root, encoding: 'utf8' }).trim()

/** How many commits came after one; undefined where this tree does not have it. */
function since(commit: string): number | undefined {
  try {
    return Number(
      execFileSync('git', ['rev-list', '--count', `${commit}..HEAD`], { cwd: root, stdio: 'pipe' }),
    )
  } catch {
    return undefined
  }
}

function held(): SlowRecord | undefined {
  const path = join(root, RECORD)
  return existsSync(path) ? SlowRecord.parse(JSON.parse(readFileSync(path, 'utf8'))) : undefined
}

/** Notes the run where all passed on a tree as it was committed; the file is to be committed too. */
function note(reportPath: string, seed: number): void {
  const report = Report.parse(JSON.parse(readFileSync(reportPath, 'utf8')))
  const record = recordOf(report, { commit: git('rev-parse', 'HEAD'), seed, endMs: Date.now() })
  if (record === undefined) return
  if (git('status', '--porcelain', '--untracked-files=no', '--', '.', `:!${RECORD}`) !== '')
    return void console.log('every slow test passed; this is not noted, because files are changed')
  writeFileSync(join(root, RECORD), `${JSON.stringify(record, null, 2)}\n`)
  console.log(`${sayRecord(record, 0)}\nnoted in ${RECORD}; commit it`)
}

const [project = 'slow', ...given] = process.argv.slice(2)
const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * SEED_END))
const notes = project === 'slow' && isWhole(given)
if (project === 'slow') {
  const record = held()
  console.log(sayRecord(record, record && since(record.commit)))
}
console.log(`SEED=${seed}`)
const reportPath = join(mkdtempSync(join(tmpdir(), 'svc-slow-')), 'report.json')
const reporting = notes ? ['--reporter=default', '--reporter=json', `--outputFile.json=${reportPath}`] : []
const { status } = spawnSync(
  join(root, 'node_modules/.bin/vitest'),
  ['run', '--project', project, ...reporting, ...given],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, SEED: String(seed) },
  },
)
if (notes && status === 0) note(reportPath, seed)
process.exitCode = status ?? 1
