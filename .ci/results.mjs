// Reads one or more of vitest's JSON reports, of which a later one rules for the files that it names: `counts` prints how
// many tests passed and failed, `files` the test files that failed, and `errors` each failed test with its error. A
// skipped test counts as failed, and a file that did not load as one test.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

const [what, ...paths] = process.argv.slice(2)
const files = new Map()
for (const path of paths)
  for (const file of JSON.parse(readFileSync(path, 'utf8')).testResults) files.set(file.name, file)

const failedTests = file => file.assertionResults.filter(one => one.status !== 'passed')
const failedIn = file => failedTests(file).length || (file.status === 'passed' ? 0 : 1)
const failed = [...files.values()].filter(file => failedIn(file) > 0)

const print = {
  counts() {
    const tests = [...files.values()].flatMap(file => file.assertionResults)
    const passed = tests.filter(one => one.status === 'passed').length
    console.log(passed, files.size === 0 ? 1 : failed.reduce((sum, file) => sum + failedIn(file), 0))
  },
  files() {
    for (const file of failed) console.log(relative(process.cwd(), file.name))
  },
  errors() {
    for (const file of failed) {
      if (file.message) console.log(`${file.name}\n${file.message}`)
      for (const test of failedTests(file))
        console.log(
          `${file.name}: ${test.fullName} (${test.status})\n${(test.failureMessages ?? []).join('\n')}`,
        )
    }
  },
}
print[what]()
