/** The report, run as people run it, over a report of vitest. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { type Claim, readClaims } from './claims.ts'
import { claimsReport } from './report.ts'
import { readReports } from './verdicts.ts'

const root = new URL('../..', import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), 'svc-claims-'))
afterAll(() => rmSync(folder, { recursive: true }))

type Status = 'passed' | 'failed' | 'skipped' | 'pending' | 'todo'
type Names = Record<string, Status>

function written(name: string, files: Record<string, Names>): string {
  const testResults = Object.entries(files).map(([file, names]) => ({
    name: join(root, file),
    assertionResults: Object.entries(names).map(([fullName, status]) => ({ fullName, status })),
  }))
  const path = join(folder, name)
  writeFileSync(path, JSON.stringify({ testResults }))
  return path
}

const claim = (file: string, words: string): Claim => ({
  section: 'Doors',
  sentence: 'a door is shut',
  tests: [{ file, words }],
})

function reportOn(one: Claim, ...reports: Record<string, Names>[]) {
  const paths = reports.map((files, i) => written(`${i}.json`, files))
  return claimsReport(new Map([['house', [one]]]), readReports(paths, root))
}

describe('a claim', () => {
  test('whose test passed is printed with it, and nothing is refused', () => {
    const { lines, refused } = reportOn(claim('a.test.ts', 'door is shut'), {
      'a.test.ts': { 'every door is shut at night': 'passed', 'a window': 'failed' },
    })
    expect(lines).toEqual([
      '',
      'house: Doors',
      '- a door is shut',
      '    passed: a.test.ts: door is shut',
      '',
      '1 sentences, 1 tests: 1 passed',
    ])
    expect(refused).toEqual([])
  })

  test.each<[string, Names, string]>([
    ['failed', { 'a door is shut': 'failed' }, 'failed'],
    ['was skipped', { 'a door is shut': 'skipped' }, 'skipped'],
    ['is still to be written', { 'a door is shut': 'todo' }, 'skipped'],
    ['was left out by a filter', { 'a door is shut': 'pending' }, 'skipped'],
    ['is gone', { 'a door is open': 'passed' }, 'did not run'],
    ['ran in one case of two', { 'a door is shut': 'passed', 'a red door is shut': 'skipped' }, 'skipped'],
  ])('whose test %s is refused', (_, names, verdict) => {
    expect(reportOn(claim('a.test.ts', 'door is shut'), { 'a.test.ts': names }).refused).toEqual([
      `${verdict}: a.test.ts: door is shut\n    claimed under Doors: a door is shut`,
    ])
  })

  test('whose file is in no report is refused', () => {
    expect(reportOn(claim('a.test.ts', 'x'), { 'b.test.ts': { x: 'passed' } }).refused).toHaveLength(1)
  })

  test('whose words have a place for cases stands for all of them', () => {
    const cases = { 'the red door is shut': 'passed', 'the blue door is shut': 'passed' } as const
    const shut = claim('a.test.ts', 'the %s door is $state')
    expect(reportOn(shut, { 'a.test.ts': cases }).refused).toEqual([])
    expect(
      reportOn(shut, { 'a.test.ts': { ...cases, 'the old door is open': 'failed' } }).refused,
    ).toHaveLength(1)
  })

  test('of the slow suite is named as that where it did not run, and judged where it did', () => {
    const slow = claim('a.slow.test.ts', 'door')
    const { lines, refused } = reportOn(slow, {})
    expect([lines[3], refused]).toEqual(['    slow suite, not run here: a.slow.test.ts: door', []])
    expect(reportOn(slow, { 'a.slow.test.ts': { 'a door': 'skipped' } }).refused).toHaveLength(1)
  })

  test('is judged by the last report that names its file', () => {
    const failed = { 'a.test.ts': { door: 'failed' } } as const
    const passed = { 'a.test.ts': { door: 'passed' } } as const
    expect(reportOn(claim('a.test.ts', 'door'), failed, passed).refused).toEqual([])
    expect(reportOn(claim('a.test.ts', 'door'), passed, failed).refused).toHaveLength(1)
  })
})

describe('npm run claims', () => {
  const run = (...paths: string[]) =>
    spawnSync(process.execPath, [join(root, 'scripts/claims.ts'), ...paths], { encoding: 'utf8' })
  /** A report in which the tests of all claims passed, but for those of one file. */
  const everything = (except?: string, status?: Status) => {
    const files: Record<string, Names> = {}
    for (const { file, words } of [...readClaims(root).values()].flat().flatMap(one => one.tests)) {
      if (file === except && status === undefined) continue
      files[file] = { ...files[file], [words]: file === except && status ? status : 'passed' }
    }
    return written('everything.json', files)
  }
  const one = 'test/homes.test.ts'

  test('ends with 0 where every test passed', () => {
    const { status, stdout, stderr } = run(everything())
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/sentences, \d+ tests: \d+ passed\n$/)
  })

  test.each([
    ['was skipped', 'skipped', 'skipped'],
    ['failed', 'failed', 'failed'],
    ['did not run', undefined, 'did not run'],
  ] as const)('ends with 1 and names the test where one %s', (_, given, verdict) => {
    const { status, stderr } = run(everything(one, given))
    expect(status).toBe(1)
    expect(stderr).toContain(`${verdict}: ${one}: `)
  })

  test('without a report says how to get them, and ends with 1', () => {
    const { status, stderr } = run()
    expect([status, stderr.includes('npm test -- --reporter=default --reporter=json')]).toEqual([1, true])
  })
})
