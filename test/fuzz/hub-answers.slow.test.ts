import { testHubAnswers } from './hub-answers.ts'

testHubAnswers(10_000)
