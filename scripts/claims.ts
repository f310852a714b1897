/** `npm run -s claims -- <report>…`: each sentence that is claimed, its tests, and whether they passed. */
import { fileURLToPath } from 'node:url'
import { readClaims } from './claims/claims.ts'
import { claimsReport } from './claims/report.ts'
import { readReports } from './claims/verdicts.ts'

const USAGE = `Give the JSON reports of the test suites; the slow suite may be left out. To get them:

  npm test -- --reporter=default --reporter=json --outputFile.json=quick.json
  npm run test:programs -- --reporter=default --reporter=json --outputFile.json=programs.json
  npm run -s claims -- quick.json programs.json

A later report rules for the test files that it names.
`

const root = fileURLToPath(new URL('..', import.meta.url))
const reports = process.argv.slice(2)
if (reports.length === 0) {
  process.stderr.write(USAGE)
  process.exitCode = 1
} else {
  const { lines, refused } = claimsReport(readClaims(root), readReports(reports, root))
  process.stdout.write(`${lines.join('\n')}\n`)
  for (const line of refused) process.stderr.write(`${line}\n`)
  if (refused.length > 0) process.exitCode = 1
}
