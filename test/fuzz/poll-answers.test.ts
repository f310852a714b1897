import { testPollAnswers } from './poll-answers.ts'

testPollAnswers(10_000)
