/** The report on the claims, as it is printed. */
import type { Claim } from './claims.ts'
import { isRefused, type Judged, type JudgedClaim, judge, type Results } from './verdicts.ts'

export type ClaimsReport = {
  /** Every sentence with its tests, and the sum at the end. */
  readonly lines: readonly string[]
  /** Tests that failed, were skipped or did not run, each with its sentence. */
  readonly refused: readonly string[]
}

export function claimsReport(claims: ReadonlyMap<string, readonly Claim[]>, results: Results): ClaimsReport {
  const judged = [...claims].map(([subject, rows]) => ({
    subject,
    rows: rows.map(row => judge(row, results)),
  }))
  const all = judged.flatMap(({ rows }) => rows)
  return {
    lines: [...judged.flatMap(({ subject, rows }) => subjectLines(subject, rows)), '', sum(all)],
    refused: all.flatMap(({ section, sentence, tests }) =>
      tests.filter(isRefused).map(test => `${testLine(test)}\n    claimed under ${section}: ${sentence}`),
    ),
  }
}

function subjectLines(subject: string, rows: readonly JudgedClaim[]): string[] {
  const sections = Map.groupBy(rows, ({ section }) => section)
  return [...sections].flatMap(([section, ofSection]) => [
    '',
    `${subject}: ${section}`,
    ...ofSection.flatMap(({ sentence, tests }) => [
      `- ${sentence}`,
      ...tests.map(test => `    ${testLine(test)}`),
    ]),
  ])
}

const testLine = ({ verdict, file, words }: Judged) => `${verdict}: ${file}: ${words}`

function sum(rows: readonly JudgedClaim[]): string {
  const tests = rows.flatMap(row => row.tests)
  const counts = [...Map.groupBy(tests, ({ verdict }) => verdict)].map(
    ([verdict, of]) => `${of.length} ${verdict}`,
  )
  return `${rows.length} sentences, ${tests.length} tests: ${counts.join('; ')}`
}
