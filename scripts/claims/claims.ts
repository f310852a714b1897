/** What the documents claim, sentence by sentence, and the tests that hold it: the files of `test/claims/`. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/** A test file, and words of the names of tests in it: of a test, or of a group of tests. */
export type ClaimedTest = {
  readonly file: string
  readonly words: string
  /** The file in which the words are written, where that is a helper of the test file or its vectors. */
  readonly at?: string
}

export type Claim = {
  readonly section: string
  readonly sentence: string
  readonly tests: readonly ClaimedTest[]
}

/** The claims of each subject, by the name of its file. */
export function readClaims(root: string): Map<string, Claim[]> {
  const folder = join(root, 'test/claims')
  return new Map(
    readdirSync(folder)
      .filter(name => name.endsWith('.json'))
      .sort()
      .map(name => [
        basename(name, '.json'),
        JSON.parse(readFileSync(join(folder, name), 'utf8')) as Claim[],
      ]),
  )
}
