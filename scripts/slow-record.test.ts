import { expect, test } from 'vitest'
import { isWhole, recordOf, sayRecord } from './slow-record.ts'

const report = { success: true, startTime: 0, numPassedTests: 240, numPendingTests: 3, numTodoTests: 1 }
const run = { commit: '0123456789abcdef', seed: 7, endMs: 90 * 60_000 }

test('a run in which every slow test passed is noted with its commit, and the next one says it', () => {
  const record = recordOf(report, run)
  expect(record).toEqual({
    commit: run.commit,
    at: '1970-01-01T01:30:00.000Z',
    seed: 7,
    passed: 240,
    skipped: 4,
    minutes: 90,
  })
  expect(sayRecord(record, 12)).toBe(
    'every slow test last passed at 01234567 (12 commits ago), 1970-01-01T01:30Z: 240 passed, 4 skipped, 90 min, SEED=7',
  )
  expect(sayRecord(record, undefined)).toContain('which is not in this tree')
  expect(sayRecord(undefined, undefined)).toBe('no run is noted in which every slow test passed')
})

test('a run with a failure, and one of nothing, are not noted', () => {
  expect(recordOf({ ...report, success: false }, run)).toBeUndefined()
  expect(recordOf({ ...report, numPassedTests: 0 }, run)).toBeUndefined()
})

test.each([
  [[], true],
  [['--maxWorkers=1', '--reporter=verbose'], true],
  [['test/chaos'], false],
  [['-t', 'kill'], false],
  [['--testNamePattern=kill'], false],
])('a run with %j is of all slow tests: %s', (given, whole) => {
  expect(isWhole(given)).toBe(whole)
})
