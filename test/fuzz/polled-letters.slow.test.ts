import { testPolledLetters } from './polled-letters.ts'

testPolledLetters(30_000)
