import { testHubAnswers } from './hub-answers.ts'

testHubAnswers(2_000)
