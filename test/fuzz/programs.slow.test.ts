import { expect, test } from 'vitest'
import { programSubjects } from './program-subjects.ts'
import { fuzz } from './run.ts'

const CASES = 1_000_000

test.each(programSubjects())(
  `${CASES} hostile inputs: $name is read or refused, in bounded time and memory`,
  subject => {
    expect(subject.real.length).toBeGreaterThan(0)
    fuzz(subject, CASES)
  },
)
