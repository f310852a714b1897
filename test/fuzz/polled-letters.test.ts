import { testPolledLetters } from './polled-letters.ts'

testPolledLetters(500)
