// project: programs

import { testDecoders } from './decoder-tests.ts'
import { programSubjects } from './program-subjects.ts'

testDecoders(programSubjects(), 10_000)
