import { testHubAnswers } from './hub-answers.ts'

testHubAnswers(60)
