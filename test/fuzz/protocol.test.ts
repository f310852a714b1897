// project: programs

import { testDecoders } from './decoder-tests.ts'
import { protocolSubjects } from './protocol-subjects.ts'

testDecoders(protocolSubjects(), 10_000)
