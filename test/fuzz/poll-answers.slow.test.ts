import { testPollAnswers } from './poll-answers.ts'

testPollAnswers(1_000_000)
