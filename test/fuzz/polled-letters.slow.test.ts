import { testPolledLetters } from './polled-letters.ts'

testPolledLetters(100_000)
